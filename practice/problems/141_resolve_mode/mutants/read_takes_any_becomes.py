# verdict: wrong answer
# diagnosis: a line about something else was read as a change of the mode: the name it 'becomes' is none of a mode
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.match(r"cudagraph_mode (\w+) is asked for$", message):
            name = asked[1]
        elif change := re.match(r".*\w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, [*reasons, message]
    if name not in CUDAGraphMode.__members__:
        return name, name, reasons
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
