# verdict: wrong answer
# diagnosis: an argument that is a list of tensors was left out: all its tensors are written
def written_tensors(func, args, kwargs):
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    found = [given.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
    return [t for t in found if isinstance(t, torch.Tensor)]
