/**
 * The commands of an SMTP session (RFC 5321 4.1). Each replies once; a ReplyError that it throws is its reply. A
 * command that has to wait returns a promise, and the session processes the next one after it.
 */
import { parseEnvelopeCommand } from './envelope-command.ts'
import { authenticate } from './sasl.ts'
import { ReplyError } from './reply.ts'
import type { SmtpSession } from './session.ts'

type Command = (session: SmtpSession, line: string) => Promise<void> | void

const UNKNOWN = new ReplyError(500, '5.5.2 Command not recognized')
const TOO_MANY_UNKNOWN = new ReplyError(421, '4.7.0 Too many unrecognized commands')
const HTTP = new ReplyError(421, '4.7.0 This is an SMTP server, not an HTTP server')
const HELO_FIRST = new ReplyError(503, '5.5.1 Send EHLO first')
const NESTED_MAIL = new ReplyError(503, '5.5.1 A transaction is in progress: send RSET first')
const MAIL_FIRST = new ReplyError(503, '5.5.1 Send MAIL first')
const RCPT_FIRST = new ReplyError(503, '5.5.1 Send RCPT first: no recipient was accepted')
const TOO_MANY_RECIPIENTS = new ReplyError(452, '4.5.3 Too many recipients: send another message to the others')
const BAD_HELO = new ReplyError(501, '5.5.4 Send EHLO or HELO with the name of your host')
const NO_ARGUMENT = new ReplyError(501, '5.5.4 Send this command without an argument')
const VRFY_ARGUMENT = new ReplyError(501, '5.5.4 Send VRFY with an address')
const TLS_ACTIVE = new ReplyError(503, '5.5.1 TLS is already active')

const MAX_UNKNOWN = 10
/** RFC 5321 4.5.3.1.2 allows 255 octets. */
const HELO_NAME = /^[^\0-\x20\x7f]{1,300}$/
const HTTP_REQUEST = /^(?:OPTIONS|GET|HEAD|POST|PUT|DELETE|TRACE|CONNECT) \S+ HTTP\/\d\.\d$/i

/** Executes one line of the client, without its line end. @throws ReplyError. */
export function executeCommand(session: SmtpSession, line: string): Promise<void> | void {
  const space = line.indexOf(' ')
  const verb = (space < 0 ? line : line.slice(0, space)).toUpperCase()
  const command = COMMANDS.get(verb)
  if (command !== undefined && (verb !== 'AUTH' || session.server.handlers.logIn !== undefined)) {
    if (session.helo === '' && AFTER_HELO.has(verb)) throw HELO_FIRST
    return command(session, line)
  }
  if (HTTP_REQUEST.test(line)) throw HTTP
  session.unknownCommands++
  throw session.unknownCommands >= MAX_UNKNOWN ? TOO_MANY_UNKNOWN : UNKNOWN
}

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['EHLO', (session, line) => greet(session, line, true)],
  ['HELO', (session, line) => greet(session, line, false)],
  ['MAIL', startTransaction],
  ['RCPT', addRecipient],
  ['DATA', startData],
  ['RSET', reset],
  ['NOOP', (session) => session.reply(250, '2.0.0 OK')],
  ['QUIT', (session) => session.quit()],
  ['VRFY', verify],
  ['HELP', (session) => session.reply(214, '2.0.0 See RFC 5321')],
  ['STARTTLS', startTls],
  ['AUTH', authenticate],
])

const AFTER_HELO: ReadonlySet<string> = new Set(['MAIL', 'RCPT', 'DATA', 'AUTH'])

function greet(session: SmtpSession, line: string, isExtended: boolean): void {
  const words = line.trim().split(/\s+/)
  const [, name = ''] = words
  if (words.length !== 2 || !HELO_NAME.test(name)) throw BAD_HELO
  session.helo = name.toLowerCase()
  session.isExtended = isExtended
  session.resetTransaction()
  const { options } = session.server
  const greeting = `${options.name} greets [${session.remoteAddress}]`
  session.reply(250, greeting, ...(isExtended ? extensionsOf(session) : []))
}

function extensionsOf(session: SmtpSession): string[] {
  const { options, handlers } = session.server
  return [
    'PIPELINING',
    '8BITMIME',
    'SMTPUTF8',
    'ENHANCEDSTATUSCODES',
    ...('NOTIFY' in options.rcptParameters ? ['DSN'] : []),
    ...(handlers.logIn !== undefined && !session.isLoggedIn && handlers.mayLogIn?.(session) !== false
      ? ['AUTH PLAIN LOGIN']
      : []),
    ...(session.tls === null ? ['STARTTLS'] : []),
    `SIZE ${options.maxOctets}`,
  ]
}

async function startTransaction(session: SmtpSession, line: string): Promise<void> {
  const { options, handlers } = session.server
  const sender = parseEnvelopeCommand('MAIL', line, options.mailParameters)
  if (session.mailFrom !== null) throw NESTED_MAIL
  if (Number(sender.parameters.get('SIZE') ?? 0) > options.maxOctets)
    throw new ReplyError(552, `5.3.4 The message has more than ${options.maxOctets} octets: send a smaller one`)
  const refusal = await handlers.mailFrom(session, sender)
  if (refusal !== null) throw refusal
  session.mailFrom = sender
  session.reply(250, '2.1.0 Accepted')
}

function addRecipient(session: SmtpSession, line: string): Promise<void> | void {
  const { options, handlers } = session.server
  const recipient = parseEnvelopeCommand('RCPT', line, options.rcptParameters)
  if (session.mailFrom === null) throw MAIL_FIRST
  if (session.rcptTo.length >= options.maxRecipients && !session.hasRecipient(recipient.address))
    throw TOO_MANY_RECIPIENTS
  const accept = (refusal: ReplyError | null): void => {
    if (refusal !== null) throw refusal
    session.addRecipient(recipient)
    session.reply(250, '2.1.5 Accepted')
  }
  const refusal = handlers.rcptTo(session, recipient)
  return refusal instanceof Promise ? refusal.then(accept) : accept(refusal)
}

function startData(session: SmtpSession, line: string): void {
  if (line.trim().length > 'DATA'.length) throw NO_ARGUMENT
  if (session.mailFrom === null) throw MAIL_FIRST
  if (session.rcptTo.length === 0) throw RCPT_FIRST
  session.unknownCommands = 0
  session.startData(session.server.handlers.data(session))
}

function reset(session: SmtpSession): void {
  session.resetTransaction()
  session.reply(250, '2.0.0 Flushed')
}

function verify(session: SmtpSession, line: string): void {
  if (line.trim().length <= 'VRFY'.length) throw VRFY_ARGUMENT
  session.reply(252, '2.0.0 Send a message to find out')
}

function startTls(session: SmtpSession, line: string): void {
  if (line.trim().length > 'STARTTLS'.length) throw NO_ARGUMENT
  if (session.tls !== null) throw TLS_ACTIVE
  session.startTls()
}
