/** What happens at each command of a visit. Every handler answers once, whatever goes wrong in it, and gives the visit time for its next step. */
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { admit } from './admit.ts'
import type { SubmissionContext } from './context.ts'
import { judgeMail, judgeRecipient } from './envelope.ts'
import { logIn, MAX_FAILURES, STORES_AWAY, WRONG } from './login.ts'
import { Reply } from './reply.ts'
import type { Sender } from './sender.ts'
import { STEP_MS, type Visit } from './server.ts'
import { takeMail } from './take.ts'

type Handlers = Pick<SMTPServerOptions, 'onConnect' | 'onAuth' | 'onMailFrom' | 'onRcptTo' | 'onData'>

const OUR_FAULT = new Reply(451, '4.3.0 A fault on our side, come again')

export function createHandlers(ctx: SubmissionContext, visitOf: (session: SMTPServerSession) => Visit): Required<Handlers> {
  /** Of the transaction under way. */
  const senders = new WeakMap<SMTPServerSession, Sender>()
  const told = (error: unknown): Reply => {
    if (error instanceof Reply) return error
    ctx.log.error({ err: error }, 'a command of a submission client failed')
    return OUR_FAULT
  }
  return {
    onConnect: (_session, reply) => reply(),
    onAuth: (auth, session, reply) => {
      const visit = visitOf(session)
      const password = auth.password ?? ''
      logIn(ctx, password, session.remoteAddress).then(({ keyId }) => {
        visit.key = password
        visit.allow(STEP_MS.command)
        reply(null, { user: keyId })
      }, (error: unknown) => {
        reply(told(error))
        if (error !== STORES_AWAY && ++visit.failedLogins >= MAX_FAILURES) visit.send(421, '4.7.0 Too many failed logins')
      })
    },
    onMailFrom: (address, session, reply) => {
      const wrong = judgeMail(address)
      if (wrong !== null) return reply(wrong)
      const visit = visitOf(session)
      // a login does not outlive the connection's way into TLS (RFC 3207 4.2)
      admit(ctx, visit, hasUser(session) ? visit.key : null).then((sender) => {
        senders.set(session, sender)
        visit.allow(STEP_MS.command)
        reply()
      }, (error: unknown) => reply(told(error)))
    },
    onRcptTo: (address, session, reply) => {
      visitOf(session).allow(STEP_MS.command)
      reply(judgeRecipient(address, session))
    },
    onData: (stream, session, reply) => {
      const visit = visitOf(session)
      const sender = senders.get(session)
      if (sender === undefined) return reply(WRONG)
      visit.allow(STEP_MS.mail)
      takeMail(ctx, { stream, session, sender, cutOff: () => visit.cutOff() }).then((text) => {
        visit.allow(STEP_MS.command)
        reply(null, text)
      }, (error: unknown) => {
        visit.allow(STEP_MS.command)
        reply(told(error))
      })
    },
  }
}

function hasUser({ user }: SMTPServerSession): boolean {
  return typeof user === 'string' && user !== ''
}
