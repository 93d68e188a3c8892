/**
 * Time limits for each step of an SMTP session, each with the reason for its length. The minimum is RFC 5321 4.5.3.2: a
 * client with shorter limits loses mail that slow servers would have accepted. A step that exceeds its limit ends the
 * connection. After the final dot this leaves the outcome unknown, so that step has the longest limit.
 */
interface TimeoutRow {
  /** Milliseconds from the moment the client starts waiting. */
  readonly ms: number
  readonly reason: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND

const ROWS = {
  connect: {
    ms: 30 * SECOND,
    reason: 'TCP answers within a few retransmissions of SYN or not at all; other addresses may remain to try',
  },
  greeting: {
    ms: 5 * MINUTE,
    reason: 'RFC 5321 4.5.3.2.1: many servers accept the connection and delay the greeting until load allows',
  },
  ehlo: { ms: 5 * MINUTE, reason: 'not listed in the RFC; servers look up the EHLO name here, so as long as for MAIL' },
  starttls: { ms: 2 * MINUTE, reason: 'not listed; the server only has to answer 220' },
  tls: {
    ms: 1 * MINUTE,
    reason: 'not listed; two round trips and a signature, after the server answered that it is ready',
  },
  auth: { ms: 2 * MINUTE, reason: 'not listed; servers check the password or token with another service' },
  rset: { ms: 2 * MINUTE, reason: 'not listed; RSET has no work to do' },
  mail: { ms: 5 * MINUTE, reason: 'RFC 5321 4.5.3.2.2' },
  rcpt: { ms: 5 * MINUTE, reason: 'RFC 5321 4.5.3.2.3: longer if mailing lists and aliases are expanded here' },
  data: { ms: 2 * MINUTE, reason: 'RFC 5321 4.5.3.2.4: waiting for 354' },
  block: { ms: 3 * MINUTE, reason: 'RFC 5321 4.5.3.2.5: one block of the message must leave within this time' },
  dot: {
    ms: 10 * MINUTE,
    reason: 'RFC 5321 4.5.3.2.6: the server now delivers or stores; giving up early makes duplicates',
  },
  quit: { ms: 5 * SECOND, reason: 'nothing depends on the reply to QUIT' },
} as const satisfies Record<string, TimeoutRow>

export type SmtpStep = keyof typeof ROWS
/** Milliseconds for each step. */
export type Timeouts = Readonly<Record<SmtpStep, number>>

export const TIMEOUTS: Readonly<Record<SmtpStep, TimeoutRow>> = ROWS

/** The limits of the table, with some of them replaced. */
export function chooseTimeouts(replaced: Partial<Timeouts> = {}): Timeouts {
  const { connect, greeting, ehlo, starttls, tls, auth, rset, mail, rcpt, data, block, dot, quit } = ROWS
  return {
    connect: connect.ms,
    greeting: greeting.ms,
    ehlo: ehlo.ms,
    starttls: starttls.ms,
    tls: tls.ms,
    auth: auth.ms,
    rset: rset.ms,
    mail: mail.ms,
    rcpt: rcpt.ms,
    data: data.ms,
    block: block.ms,
    dot: dot.ms,
    quit: quit.ms,
    ...replaced,
  }
}
