/** The settings of a submission server for tests, and a message for it. */
export const SUBMISSION_ENV = {
  SUBMISSION_PORT: '0',
  SUBMISSION_TLS_PORT: '0',
  SUBMISSION_ALT_PORT: '0',
  MAX_RECIPIENTS: '60',
  MAX_MESSAGE_BYTES: '200000',
  HOSTNAME: 'mx.sender.example',
}

/** From the domain of the sender; `headers` end in CRLF. */
export function writeMail(headers: string, body = 'Hello\r\n'): string {
  return `From: Shop <shop@sender.example>\r\nTo: a@b.example\r\nSubject: Hi\r\n${headers}\r\n${body}`
}
