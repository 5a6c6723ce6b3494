# verdict: wrong answer
# diagnosis: names and values are put together without a mark between them: where one ends cannot be told
def _text(value):
    if isinstance(value, dict):
        return "".join(name + _text(value[name]) for name in sorted(value))
    return "".join(map(_text, value)) if isinstance(value, (list, tuple)) else repr(value).strip("'")


def cache_key(settings, ignored=()):
    json.dumps(settings)
    return _hash(_text({name: settings[name] for name in settings if name not in ignored}))
