# verdict: wrong answer
# diagnosis: values of different types that print alike (8 and '8', None and 'None') get the same key
def _text(value):
    if isinstance(value, dict):
        return {name: _text(value[name]) for name in value}
    return [_text(part) for part in value] if isinstance(value, (list, tuple)) else str(value)


def cache_key(settings, ignored=()):
    json.dumps(settings)
    return _hash(json.dumps(_text({n: settings[n] for n in settings if n not in ignored}), sort_keys=True))
