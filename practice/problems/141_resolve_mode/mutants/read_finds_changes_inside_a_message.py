# verdict: wrong answer
# diagnosis: a change was found inside another message: only a message that starts with cudagraph_mode is one
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.match(r"cudagraph_mode (\w+) is asked for$", message):
            name = asked[1]
        elif change := re.search(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
