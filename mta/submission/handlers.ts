/**
 * What happens at each command of a visit. Every handler answers once, whatever goes wrong in it, and gives the visit time for its next
 * step.
 */
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { Reply } from '#mta/smtp-server/reply.ts'
import { admit } from './connection-policy.ts'
import type { SubmissionContext } from './context.ts'
import { judgeMail, judgeRecipient } from './envelope.ts'
import { logIn, MAX_FAILURES, STORES_AWAY } from './login.ts'
import type { Sender } from './sender.ts'
import { STEP_MS, type Visit } from './server.ts'
import { type Handed, takeMail } from './accept.ts'

type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'>

const ACCEPTED = 250
const OUR_FAULT = new Reply(451, '4.3.0 A fault on our side, come again')

export function createHandlers(
  ctx: SubmissionContext,
  visitOf: (session: SMTPServerSession) => Visit,
): Required<Handlers> {
  return {
    onConnect: (_session, reply) => reply(),
    onAuth: ({ password }, session, reply) => {
      const visit = visitOf(session)
      welcome(ctx, visit, password ?? '').then(
        (user) => reply(null, { user }),
        (error: unknown) => {
          reply(replyOf(ctx, error))
          if (error !== STORES_AWAY && ++visit.failedLogins >= MAX_FAILURES)
            visit.send(421, '4.7.0 Too many failed logins')
        },
      )
    },
    onMailFrom: (address, session, reply) => {
      const visit = visitOf(session)
      begin(ctx, visit, address).then(
        (sender) => {
          visit.sender = sender
          reply()
        },
        (error: unknown) => reply(replyOf(ctx, error)),
      )
    },
    onRcptTo: (address, session, reply) => {
      visitOf(session).allow(STEP_MS.command)
      reply(judgeRecipient(address, session))
    },
    onData: (stream, session, reply) => {
      const visit = visitOf(session)
      const { sender } = visit
      if (sender === null) return reply(OUR_FAULT)
      const handed = { stream, session, sender, cutOff: () => visit.cutOff() }
      receive(ctx, visit, handed).then(
        (text) => reply(null, text),
        (error: unknown) => reply(replyOf(ctx, error)),
      )
    },
  }
}

/** Answers the id of the key. */
async function welcome(ctx: SubmissionContext, visit: Visit, password: string): Promise<string> {
  try {
    const { keyId } = await logIn(ctx, password, visit.remoteAddress)
    visit.key = password
    visit.allow(STEP_MS.command)
    ctx.metrics.add('mailstead_submission_logins_total', ['accepted'])
    return keyId
  } catch (error) {
    ctx.metrics.add('mailstead_submission_logins_total', ['refused'])
    ctx.log.info({ peer: visit.remoteAddress, reply: replyOf(ctx, error).message }, 'login refused')
    throw error
  }
}

async function begin(ctx: SubmissionContext, visit: Visit, address: Parameters<typeof judgeMail>[0]): Promise<Sender> {
  const wrong = judgeMail(address)
  if (wrong !== null) throw wrong
  // a login does not outlive the connection's way into TLS (RFC 3207 4.2): smtp-server forgets the user
  const sender = await admit(ctx, visit, visit.session.user ? visit.key : null)
  visit.allow(STEP_MS.command)
  return sender
}

async function receive(ctx: SubmissionContext, visit: Visit, handed: Handed): Promise<string> {
  const began = performance.now()
  visit.allow(STEP_MS.mail)
  let code = ACCEPTED
  try {
    return await takeMail(ctx, handed)
  } catch (error) {
    const refusal = replyOf(ctx, error)
    code = refusal.responseCode
    ctx.log.info({ peer: visit.remoteAddress, reply: `${code} ${refusal.message}` }, 'refused')
    throw refusal
  } finally {
    visit.allow(STEP_MS.command)
    ctx.metrics.add('mailstead_submission_mails_total', [String(code)])
    ctx.metrics.observe('mailstead_submission_seconds', [], (performance.now() - began) / 1000)
  }
}

function replyOf({ log }: SubmissionContext, error: unknown): Reply {
  if (error instanceof Reply) return error
  log.error({ err: error }, 'a command of a submission client failed')
  return OUR_FAULT
}
