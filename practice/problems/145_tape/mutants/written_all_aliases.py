# verdict: wrong answer
# diagnosis: an argument with alias_info counts as written; a view has that too: look at is_write
def written_tensors(func, args, kwargs):
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    return tensors_in([given.get(a.name) for a in func._schema.arguments if a.alias_info])
