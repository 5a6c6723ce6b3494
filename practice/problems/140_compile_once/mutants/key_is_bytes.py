# verdict: error|wrong answer
# diagnosis: the key is no str but the digest's bytes, or a number; a folder is named by a str
def cache_key(settings, ignored=()):
    text = json.dumps({name: settings[name] for name in settings if name not in ignored}, sort_keys=True)
    return hashlib.sha256(text.encode()).digest()
