/** Handlers for the SMTP commands of a connection. Each extends the deadline of the connection for the next step. */
import type { MessageSink, SmtpHandlers } from '#mta/smtp-server/smtp-server.ts'
import type { SmtpSession } from '#mta/smtp-server/session.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { isLoopback } from '#src/net/address-policy.ts'
import { authorizeTransaction } from './connection-policy.ts'
import type { SubmissionContext } from './context.ts'
import { checkMailFrom, checkRcptTo } from './envelope.ts'
import { logIn, MAX_FAILURES, STORES_AWAY } from './login.ts'
import { newId } from '#src/platform/id.ts'
import { maxOctets } from '#src/submission/message-octets.ts'
import type { OpenSpan } from '#src/traces/tracer.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'
import { acceptMessage, type ReceivedMessage } from './accept.ts'
import { MessageOctets } from './message-bytes.ts'

/** What is remembered about a connection. */
interface Connection {
  /** From this machine. */
  readonly isLocal: boolean
  /** The API key it logged in with. */
  key: string | null
  failedLogins: number
  /** The sender of the current transaction. */
  sender: SubmissionSender | null
}

export type SubmissionSession = SmtpSession<Connection>

/** Time limits of a connection: until the login, between two commands, for one message. */
const STEP_MS = { login: 60_000, command: 5 * 60_000, mail: 30 * 60_000 } as const

const ACCEPTED = 250
const INTERNAL_ERROR = new ReplyError(451, '4.3.0 Internal error, try again later')
const TOO_MANY_LOGINS = new ReplyError(421, '4.7.0 Too many failed logins')
/** The client no longer receives it. */
const LOST = new ReplyError(451, '4.4.2 The connection was lost')

export function createHandlers(ctx: SubmissionContext): SmtpHandlers<Connection> {
  const mayLogInPlain = ctx.config.submissionPlainLogin === 'anywhere'
  const extendDeadline = (session: SubmissionSession, step: keyof typeof STEP_MS): void => {
    session.deadlineMs = ctx.clock.now() + STEP_MS[step]
  }
  return {
    open: (session) => {
      extendDeadline(session, 'login')
      return { isLocal: isLoopback(session.remoteAddress), key: null, failedLogins: 0, sender: null }
    },
    // the password must not cross the network in plain text
    mayLogIn: ({ tls, state }) => tls !== null || mayLogInPlain || state.isLocal,
    logIn: async (session, password) => {
      const refusal = await logInSession(ctx, session, password)
      if (refusal === null) extendDeadline(session, 'command')
      else if (refusal !== STORES_AWAY && ++session.state.failedLogins >= MAX_FAILURES)
        session.endAfterReply(TOO_MANY_LOGINS)
      return refusal
    },
    mailFrom: async (session, sender) => {
      const refusal = checkMailFrom(sender) ?? (await startTransaction(ctx, session))
      if (refusal === null) extendDeadline(session, 'command')
      return refusal
    },
    rcptTo: (session, recipient) => {
      extendDeadline(session, 'command')
      return checkRcptTo(recipient, session.mailFrom)
    },
    data: (session) => {
      extendDeadline(session, 'mail')
      return receiveMessage(ctx, session, () => extendDeadline(session, 'command'))
    },
  }
}

/** Returns the refusal of a failed login. */
async function logInSession(
  ctx: SubmissionContext,
  { remoteAddress: peer, state }: SubmissionSession,
  password: string,
): Promise<ReplyError | null> {
  try {
    await logIn(ctx, password, peer)
    state.key = password
    ctx.metrics.add('mailstead_submission_logins_total', ['accepted'])
    return null
  } catch (error) {
    const refusal = toReplyError(ctx, error)
    ctx.metrics.add('mailstead_submission_logins_total', ['refused'])
    ctx.log.info({ peer, reply: refusal.message }, 'login refused')
    return refusal
  }
}

async function startTransaction(
  ctx: SubmissionContext,
  { isLoggedIn, remoteAddress, state }: SubmissionSession,
): Promise<ReplyError | null> {
  try {
    // STARTTLS discards the login (RFC 3207 4.2)
    const key = isLoggedIn ? state.key : null
    state.sender = await authorizeTransaction(ctx, { remoteAddress, isLocal: state.isLocal }, key)
    return null
  } catch (error) {
    return toReplyError(ctx, error)
  }
}

/** The span of a transaction, from DATA to the reply, which begins its trace. Null if it is not recorded. */
function startTransactionSpan(
  { tracer }: SubmissionContext,
  requestId: string,
  { workspaceId }: SubmissionSender,
): OpenSpan | null {
  const attributes = {
    'network.protocol.name': 'smtp',
    'mailstead.request.id': requestId,
    'mailstead.workspace.id': workspaceId,
  }
  return tracer?.startTrace({ name: 'SMTP submission', kind: 'server', attributes }, null) ?? null
}

function receiveMessage(ctx: SubmissionContext, session: SubmissionSession, onEnd: () => void): MessageSink {
  const { sender } = session.state
  if (sender === null) throw INTERNAL_ERROR
  const began = performance.now()
  const requestId = newId()
  const span = startTransactionSpan(ctx, requestId, sender)
  const octets = new MessageOctets({
    maxBytes: maxOctets(ctx.config),
    memory: ctx.memory,
    disconnect: () => session.destroy(),
  })
  const finish = (code: number): void => {
    octets.release()
    onEnd()
    span?.end({ attributes: { 'mailstead.smtp.reply_code': code } })
    ctx.metrics.add('mailstead_submission_messages_total', [String(code)])
    ctx.metrics.observe('mailstead_submission_seconds', [], (performance.now() - began) / 1000)
  }
  const refuse = (refusal: ReplyError): void => {
    const { responseCode: code, message } = refusal
    ctx.log.info({ requestId, peer: session.remoteAddress, reply: `${code} ${message}` }, 'refused')
    finish(code)
  }
  const accept = async (): Promise<string> => {
    const received: ReceivedMessage = { requestId, span, octets: octets.complete(), session, sender }
    return acceptMessage(ctx, received)
  }
  return {
    write: (chunk) => octets.add(chunk),
    end: async () => {
      try {
        const text = await accept()
        finish(ACCEPTED)
        return text
      } catch (error) {
        const refusal = toReplyError(ctx, error)
        refuse(refusal)
        throw refusal
      }
    },
    abort: () => refuse(LOST),
  }
}

function toReplyError({ log }: SubmissionContext, error: unknown): ReplyError {
  if (error instanceof ReplyError) return error
  log.error({ err: error }, 'failed to process a command of a submission client')
  return INTERNAL_ERROR
}
