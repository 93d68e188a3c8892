/**
 * How long each step of an SMTP conversation may take: one row a step, with the
 * reason for its length. The floor is RFC 5321 4.5.3.2: a client that gives up
 * sooner loses mail that slow but honest servers would have taken.
 * A step that runs out of time ends the connection; after the final dot that
 * leaves the outcome unknown, which is why that step has the longest time.
 */
interface Row {
  /** Milliseconds from the moment the client starts waiting. */
  readonly ms: number
  readonly reason: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND

const ROWS = {
  connect: {
    ms: 30 * SECOND,
    reason: 'TCP either answers within a few retransmissions of SYN or will not; there may be other addresses to try',
  },
  greeting: {
    ms: 5 * MINUTE,
    reason: 'RFC 5321 4.5.3.2.1: many servers accept the connection and delay the greeting until load allows',
  },
  ehlo: { ms: 5 * MINUTE, reason: 'not listed in the RFC; servers look up our name here, so as long as for MAIL' },
  starttls: { ms: 2 * MINUTE, reason: 'not listed; the server only has to say go ahead' },
  tls: { ms: 1 * MINUTE, reason: 'not listed; two round trips and a signature, after the server promised to be ready' },
  auth: { ms: 2 * MINUTE, reason: 'not listed; servers ask elsewhere whether a password or token is good' },
  rset: { ms: 2 * MINUTE, reason: 'not listed; RSET has no work to do' },
  mail: { ms: 5 * MINUTE, reason: 'RFC 5321 4.5.3.2.2' },
  rcpt: { ms: 5 * MINUTE, reason: 'RFC 5321 4.5.3.2.3: longer if mailing lists and aliases are expanded here' },
  data: { ms: 2 * MINUTE, reason: 'RFC 5321 4.5.3.2.4: waiting for 354' },
  block: { ms: 3 * MINUTE, reason: 'RFC 5321 4.5.3.2.5: one block of the message must leave within this time' },
  dot: {
    ms: 10 * MINUTE,
    reason: 'RFC 5321 4.5.3.2.6: the server now delivers or stores; giving up early makes duplicates',
  },
  quit: { ms: 5 * SECOND, reason: 'a courtesy: nothing depends on the answer to QUIT' },
} as const satisfies Record<string, Row>

export type Step = keyof typeof ROWS
/** Milliseconds for each step. */
export type Timeouts = Readonly<Record<Step, number>>

export const TIMEOUTS: Readonly<Record<Step, Row>> = ROWS

/** The table's times, with some of them replaced. */
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
