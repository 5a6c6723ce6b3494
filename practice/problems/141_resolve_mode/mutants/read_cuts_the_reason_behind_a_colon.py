# verdict: wrong answer
# diagnosis: a reason ends too early, at a colon that belongs to it
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.match(r"cudagraph_mode (\w+) is asked for$", message):
            name = asked[1]
        elif change := re.match(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(message.split(': ')[1])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
