# verdict: wrong answer
# diagnosis: the name of the operator decided: an operator without the underscore may write as well, by out or by a mark in its schema
def written_tensors(func, args, kwargs):
    if not func._schema.name.endswith("_"):
        return tensors_in([kwargs.get("out")])
    first = func._schema.arguments[0].name
    return tensors_in([args[0] if args else kwargs.get(first)])
