# verdict: wrong answer
# diagnosis: this is the mode that was asked for; a later line says that it becomes another one
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.match(r"cudagraph_mode (\w+) is asked for$", message):
            name = asked[1]
        elif change := re.match(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
