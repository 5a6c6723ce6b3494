# verdict: wrong answer
# diagnosis: only positional arguments were looked at: an argument given by name, such as out, may be written too
def written_tensors(func, args, kwargs):
    given = zip(func._schema.arguments, args, strict=False)
    return tensors_in([value for a, value in given if a.alias_info and a.alias_info.is_write])
