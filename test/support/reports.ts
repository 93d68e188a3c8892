/**
 * Bounces, complaints and automatic replies as mail servers write them, for tests that send them to the inbound port.
 */

const crlf = (text: string): string => text.replaceAll(/\r?\n/g, '\r\n')

export interface DsnFields {
  readonly recipient: string
  readonly action?: 'failed' | 'delayed' | 'delivered' | 'relayed'
  readonly status?: string
  readonly diagnostic?: string
}

/** A report after RFC 3464. */
export function dsnOf({
  recipient,
  action = 'failed',
  status = '5.1.1',
  diagnostic = '550 5.1.1 <x>: no such user here',
}: DsnFields): string {
  return crlf(`From: Mail Delivery System <MAILER-DAEMON@mx.receiver.example>
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"

--b1
Content-Type: text/plain

This is the mail system at host mx.receiver.example.

--b1
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.receiver.example

Final-Recipient: rfc822; ${recipient}
Action: ${action}
Status: ${status}
Diagnostic-Code: smtp; ${diagnostic}

--b1
Content-Type: message/rfc822

From: shop@sender.example
Subject: Hello

Hello
--b1--
`)
}

/** A complaint after RFC 5965; `original` are header lines of the mail it is about. */
export function arfOf(feedbackType = 'abuse', original = 'From: shop@sender.example'): string {
  return crlf(`From: <feedback@receiver.example>
Subject: FW: Hello
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="b2"

--b2
Content-Type: text/plain

This is an email abuse report.
--b2
Content-Type: message/feedback-report

Feedback-Type: ${feedbackType}
User-Agent: Feedback/1.0
Version: 1

--b2
Content-Type: message/rfc822

${original}
Subject: Hello

Hello
--b2--
`)
}

/** A plain-text bounce as qmail writes it. */
export function textBounceOf(recipient: string): string {
  return crlf(`From: MAILER-DAEMON@mx.receiver.example
Subject: failure notice

Hi. This is the qmail-send program at mx.receiver.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<${recipient}>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.

From: shop@sender.example
Subject: Hello

Hello
`)
}

export function outOfOfficeOf(): string {
  return crlf(`From: Ann <ann@receiver.example>
Subject: Out of testbed: Hello
Auto-Submitted: auto-replied

I am away until Monday.
`)
}

/** A report that is expensive to parse: deep or wide MIME structures, long lines. */
export function hostileReportOf(kind: number): string {
  const bombs = [
    (): string =>
      Array.from({ length: 3000 }, (_, i) => `Content-Type: multipart/mixed; boundary="b${i}"\n\n--b${i}\n`).join(''),
    (): string =>
      'From: mailer-daemon@x\nContent-Type: multipart/report; boundary=b\n\n' +
      '--b\nContent-Type: text/plain\n\nuser\n'.repeat(4000),
    (): string => `From: mailer-daemon@x\nSubject: failure notice\n\n${'a@'.repeat(60_000)}`,
    (): string => `From: mailer-daemon@x\nSubject: failure notice\n\nuser@${'a.'.repeat(60_000)}`,
    (): string =>
      'From: mailer-daemon@x\nContent-Type: message/delivery-status\n\n' +
      'Final-Recipient: rfc822; a@b.c\nAction: failed\n\n'.repeat(3000),
    (): string => `Content-Type: text/html\nFrom: mailer-daemon@x\nSubject: failed\n\n${'<div '.repeat(25_000)}`,
  ]
  return crlf(bombs[kind % bombs.length]?.() ?? '')
}
