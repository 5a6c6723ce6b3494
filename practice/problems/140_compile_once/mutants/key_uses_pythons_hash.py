# verdict: wrong answer
# diagnosis: `hash` of a text is salted: it is another number in the next process, which then finds nothing in the cache
def cache_key(settings, ignored=()):
    text = json.dumps({name: settings[name] for name in settings if name not in ignored}, sort_keys=True)
    return f"{hash(text) & (1 << 64) - 1:016x}"
