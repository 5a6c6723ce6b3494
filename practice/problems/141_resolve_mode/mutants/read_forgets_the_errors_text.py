# verdict: wrong answer
# diagnosis: the ERROR line says why nothing runs, and its message is missing from the reasons
def read_log(text):
    name, reasons = "NONE", []
    for line in text.splitlines():
        _, level, _, message = line.split(" ", 3)
        if asked := re.match(r"cudagraph_mode (\w+) is asked for$", message):
            name = asked[1]
        elif change := re.match(r"cudagraph_mode \w+ becomes (\w+): (.*)", message):
            name = change[1]
            reasons.append(change[2])
        elif level == "ERROR":
            return None, None, reasons
    mode = CUDAGraphMode[name]
    return mode.decode_mode().name, mode.mixed_mode().name, reasons
