# verdict: wrong answer
# diagnosis: the key is the whole text of the settings: it is too long for the name of a folder, and holds signs that may not stand there
def cache_key(settings, ignored=()):
    return json.dumps({name: settings[name] for name in settings if name not in ignored}, sort_keys=True)
