# verdict: wrong answer
# diagnosis: a list of tensors went into the answer as a list, or None did; the tensors were asked for
def written_tensors(func, args, kwargs):
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    return [given.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
