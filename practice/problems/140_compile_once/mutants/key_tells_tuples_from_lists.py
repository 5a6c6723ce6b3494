# verdict: wrong answer
# diagnosis: a tuple and a list of the same values get different keys; a tuple counts as a list
def _text(value):
    if isinstance(value, dict):
        return {name: _text(value[name]) for name in value}
    if isinstance(value, tuple):
        return {"tuple": [_text(part) for part in value]}
    return [_text(part) for part in value] if isinstance(value, list) else value


def cache_key(settings, ignored=()):
    return _hash(json.dumps(_text({n: settings[n] for n in settings if n not in ignored}), sort_keys=True))
