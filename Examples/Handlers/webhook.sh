#!/bin/sh
# A service for Bobbin: sends the job that it reads to the web service at $URL, and says what came of it.
if answer=$(curl --silent --show-error --fail --max-time 30 --output /dev/null --header 'Content-Type: application/json' \
  --data-binary @- "$URL" 2>&1); then
  echo '{"result": {}}'
else
  echo "$answer"
  echo '{"error": {"message": "the web service has not taken it; the log says why"}}'
fi
