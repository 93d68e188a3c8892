/**
 * What happens at each command of a visit. Every handler answers once, whatever goes wrong in it, and gives the visit time for its next
 * step.
 */
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { authorizeTransaction } from './connection-policy.ts'
import type { SubmissionContext } from './context.ts'
import { checkMailFrom, checkRcptTo } from './envelope.ts'
import { logIn, MAX_FAILURES, STORES_AWAY } from './login.ts'
import type { SubmissionSender } from './sender.ts'
import { STEP_MS, type SubmissionConnection } from './server.ts'
import { type DataCommand, acceptMessage } from './accept.ts'

type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'>

const ACCEPTED = 250
const OUR_FAULT = new ReplyError(451, '4.3.0 A fault on our side, come again')

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
      const data = { stream, session, sender, disconnect: () => connection.disconnect() }
      receiveMessage(ctx, connection, data).then(
        (text) => reply(null, text),
        (error: unknown) => reply(toReplyError(ctx, error)),
      )
    },
  }
}

/** Answers the id of the key. */
async function logInConnection(ctx: SubmissionContext, connection: SubmissionConnection, password: string): Promise<string> {
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

async function startTransaction(ctx: SubmissionContext, connection: SubmissionConnection, address: Parameters<typeof checkMailFrom>[0]): Promise<SubmissionSender> {
  const refusal = checkMailFrom(address)
  if (refusal !== null) throw refusal
  // a login does not outlive the connection's way into TLS (RFC 3207 4.2): smtp-server forgets the user
  const sender = await authorizeTransaction(ctx, connection, connection.session.user ? connection.key : null)
  connection.extendDeadline(STEP_MS.command)
  return sender
}

async function receiveMessage(ctx: SubmissionContext, connection: SubmissionConnection, data: DataCommand): Promise<string> {
  const began = performance.now()
  connection.extendDeadline(STEP_MS.mail)
  let code = ACCEPTED
  try {
    return await acceptMessage(ctx, data)
  } catch (error) {
    const refusal = toReplyError(ctx, error)
    code = refusal.responseCode
    ctx.log.info({ peer: connection.remoteAddress, reply: `${code} ${refusal.message}` }, 'refused')
    throw refusal
  } finally {
    connection.extendDeadline(STEP_MS.command)
    ctx.metrics.add('mailstead_submission_mails_total', [String(code)])
    ctx.metrics.observe('mailstead_submission_seconds', [], (performance.now() - began) / 1000)
  }
}

function toReplyError({ log }: SubmissionContext, error: unknown): ReplyError {
  if (error instanceof ReplyError) return error
  log.error({ err: error }, 'a command of a submission client failed')
  return OUR_FAULT
}
