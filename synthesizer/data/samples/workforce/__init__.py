"""No record is of a real person: a simulated file shaped like one of federal careers."""
