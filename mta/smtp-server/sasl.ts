/**
 * AUTH (RFC 4954) with PLAIN (RFC 4616) and LOGIN. The password is a credential that names its owner, so user names are
 * read and ignored.
 */
import { ReplyError } from './reply.ts'
import type { SmtpSession } from './session.ts'

type Mechanism = (session: SmtpSession, initial: string | undefined) => Promise<void> | void

const LOGGED_IN = new ReplyError(503, '5.5.1 The connection is already logged in')
const IN_TRANSACTION = new ReplyError(503, '5.5.1 AUTH is not allowed in a transaction: send RSET first')
const PLAIN_TEXT = new ReplyError(538, '5.7.11 Encryption required for authentication: use STARTTLS first')
const UNKNOWN_MECHANISM = new ReplyError(504, '5.5.4 Unknown mechanism: use PLAIN or LOGIN')
const TOO_MANY_WORDS = new ReplyError(501, '5.5.4 Send AUTH with a mechanism and at most one response')
const ABORTED = new ReplyError(501, '5.7.0 Authentication aborted')
const BAD_TOKEN = new ReplyError(501, '5.5.2 The credentials are not in the form of this mechanism')

/** `AUTH mechanism [initial response]`. @throws ReplyError. */
export function authenticate(session: SmtpSession, line: string): Promise<void> | void {
  if (session.server.handlers.mayLogIn?.(session) === false) throw PLAIN_TEXT
  if (session.isLoggedIn) throw LOGGED_IN
  if (session.mailFrom !== null) throw IN_TRANSACTION
  const [, name = '', initial, ...more] = line.trim().split(/\s+/)
  if (more.length > 0) throw TOO_MANY_WORDS
  const mechanism = MECHANISMS.get(name.toUpperCase())
  if (mechanism === undefined) throw UNKNOWN_MECHANISM
  return mechanism(session, initial)
}

const MECHANISMS: ReadonlyMap<string, Mechanism> = new Map<string, Mechanism>([
  [
    'PLAIN',
    (session, initial) => {
      if (initial === undefined) return ask(session, '', (response) => logInPlain(session, response))
      return logInPlain(session, decode(initial))
    },
  ],
  [
    'LOGIN',
    (session, initial) => {
      const askPassword = (): void => ask(session, 'Password:', (password) => logIn(session, password))
      if (initial === undefined) return ask(session, 'Username:', askPassword)
      askPassword()
    },
  ],
])

function ask(session: SmtpSession, prompt: string, next: (response: string) => Promise<void> | void): void {
  session.reply(334, Buffer.from(prompt).toString('base64'))
  session.expectLine((line) => {
    if (line.trim() === '*') throw ABORTED
    return next(decode(line))
  })
}

function decode(base64: string): string {
  return Buffer.from(base64.trim(), 'base64').toString()
}

/** RFC 4616 2: authorization identity NUL user name NUL password. */
function logInPlain(session: SmtpSession, response: string): Promise<void> {
  const [, , password, ...more] = response.split('\0')
  if (password === undefined || more.length > 0) throw BAD_TOKEN
  return logIn(session, password)
}

async function logIn(session: SmtpSession, password: string): Promise<void> {
  const refusal = (await session.server.handlers.logIn?.(session, password)) ?? null
  if (refusal !== null) throw refusal
  session.isLoggedIn = true
  session.reply(235, '2.7.0 Authentication successful')
}
