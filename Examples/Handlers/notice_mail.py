#!/usr/bin/python3
"""A job type for Bobbin: mails what happened. The arguments are an event, as Documentation/Notices.md describes it.

The address is the program's argument. The mail is handed to "sendmail", as every mail server has it.
"""

import email.message
import json
import os
import subprocess
import sys


def main():
    job = json.load(sys.stdin)
    event = job["arguments"]
    mail = email.message.EmailMessage()
    mail["To"] = sys.argv[1]
    mail["Subject"] = f"[bobbin] {event['text']}"[:200]
    # The same event has the same ID, by which a mail server knows a mail that is sent once more.
    mail["Message-ID"] = f"<{job['id'].replace('#', '.')}@{os.uname().nodename}>"
    lines = [one["text"] for one in event.get("events", [event])]
    details = json.dumps(event, indent=2, ensure_ascii=False)
    mail.set_content("\n".join(lines) + "\n\n" + details + "\n", cte="8bit")
    sent = subprocess.run(["sendmail", "-t", "-i"], input=mail.as_bytes(), check=False)
    # It tells by codes of sysexits.h whether another attempt may help, as the daemon understands them.
    sys.exit(sent.returncode)


main()
