# verdict: error
# diagnosis: a line that asks for something else was read as the mode asked for: its message does not start with cudagraph_mode
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.search(r"(\w+) is asked for$", message):
            name = asked[1]
        elif change := re.match(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
