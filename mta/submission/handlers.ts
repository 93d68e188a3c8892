/**
 * Handlers for the SMTP commands of a connection. Each replies exactly once, whatever fails, and extends the deadline
 * of the connection for the next step.
 */
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { authorizeTransaction } from './connection-policy.ts'
import type { SubmissionContext } from './context.ts'
import { checkMailFrom, checkRcptTo } from './envelope.ts'
import { logIn, MAX_FAILURES, STORES_AWAY } from './login.ts'
import { newId } from '#src/platform/id.ts'
import type { OpenSpan } from '#src/traces/tracer.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'
import { STEP_MS, type SubmissionConnection } from './server.ts'
import { type DataCommand, acceptMessage } from './accept.ts'

type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'>

const ACCEPTED = 250
const OUR_FAULT = new ReplyError(451, '4.3.0 Internal error, try again later')

export function createHandlers(
  ctx: SubmissionContext,
  connectionOf: (session: SMTPServerSession) => SubmissionConnection,
): Required<Handlers> {
  return {
    onConnect: (_session, reply) => reply(),
    onAuth: ({ password }, session, reply) => {
      const connection = connectionOf(session)
      logInConnection(ctx, connection, password ?? '').then(
        (user) => reply(null, { user }),
        (error: unknown) => {
          reply(toReplyError(ctx, error))
          if (error !== STORES_AWAY && ++connection.failedLogins >= MAX_FAILURES)
            connection.send(421, '4.7.0 Too many failed logins')
        },
      )
    },
    onMailFrom: (address, session, reply) => {
      const connection = connectionOf(session)
      startTransaction(ctx, connection, address).then(
        (sender) => {
          connection.sender = sender
          reply()
        },
        (error: unknown) => reply(toReplyError(ctx, error)),
      )
    },
    onRcptTo: (address, session, reply) => {
      connectionOf(session).extendDeadline(STEP_MS.command)
      reply(checkRcptTo(address, session))
    },
    onData: (stream, session, reply) => {
      const connection = connectionOf(session)
      const { sender } = connection
      if (sender === null) return reply(OUR_FAULT)
      const requestId = newId()
      const span = startTransactionSpan(ctx, requestId, sender)
      const data = { requestId, span, stream, session, sender, disconnect: () => connection.disconnect() }
      receiveMessage(ctx, connection, data).then(
        (text) => reply(null, text),
        (error: unknown) => reply(toReplyError(ctx, error)),
      )
    },
  }
}

/** Returns the id of the key. */
async function logInConnection(
  ctx: SubmissionContext,
  connection: SubmissionConnection,
  password: string,
): Promise<string> {
  try {
    const { keyId } = await logIn(ctx, password, connection.remoteAddress)
    connection.key = password
    connection.extendDeadline(STEP_MS.command)
    ctx.metrics.add('mailstead_submission_logins_total', ['accepted'])
    return keyId
  } catch (error) {
    ctx.metrics.add('mailstead_submission_logins_total', ['refused'])
    ctx.log.info({ peer: connection.remoteAddress, reply: toReplyError(ctx, error).message }, 'login refused')
    throw error
  }
}

async function startTransaction(
  ctx: SubmissionContext,
  connection: SubmissionConnection,
  address: Parameters<typeof checkMailFrom>[0],
): Promise<SubmissionSender> {
  const refusal = checkMailFrom(address)
  if (refusal !== null) throw refusal
  // STARTTLS discards the login (RFC 3207 4.2): smtp-server clears the user
  const sender = await authorizeTransaction(ctx, connection, connection.session.user ? connection.key : null)
  connection.extendDeadline(STEP_MS.command)
  return sender
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

async function receiveMessage(
  ctx: SubmissionContext,
  connection: SubmissionConnection,
  data: DataCommand,
): Promise<string> {
  const began = performance.now()
  connection.extendDeadline(STEP_MS.mail)
  let code = ACCEPTED
  try {
    return await acceptMessage(ctx, data)
  } catch (error) {
    const refusal = toReplyError(ctx, error)
    code = refusal.responseCode
    const { requestId } = data
    ctx.log.info({ requestId, peer: connection.remoteAddress, reply: `${code} ${refusal.message}` }, 'refused')
    throw refusal
  } finally {
    connection.extendDeadline(STEP_MS.command)
    data.span?.end({ attributes: { 'mailstead.smtp.reply_code': code } })
    ctx.metrics.add('mailstead_submission_messages_total', [String(code)])
    ctx.metrics.observe('mailstead_submission_seconds', [], (performance.now() - began) / 1000)
  }
}

function toReplyError({ log }: SubmissionContext, error: unknown): ReplyError {
  if (error instanceof ReplyError) return error
  log.error({ err: error }, 'failed to process a command of a submission client')
  return OUR_FAULT
}
