/** A submission server for tests: its settings, a sender, a client, and a message. */
import { createRegistry } from '#src/metrics/registry.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { createSubmissionClient, type SubmissionClient } from '#test/support/submission-client.ts'
import { startSubmission, type SubmissionRole } from './submission.ts'

export const SUBMISSION_ENV = {
  SUBMISSION_PORT: '0',
  SUBMISSION_TLS_PORT: '0',
  SUBMISSION_ALT_PORT: '0',
  MAX_RECIPIENTS: '60',
  MAX_MESSAGE_BYTES: '200000',
  MODE: 'live',
  MAILSTEAD_HOSTNAME: 'mx.sender.example',
}

/** From the domain of the sender; `headers` end in CRLF. */
export function writeMail(headers: string, body = 'Hello\r\n'): string {
  return `From: Shop <shop@sender.example>\r\nTo: a@b.example\r\nSubject: Hi\r\n${headers}\r\n${body}`
}

export interface SubmissionScene {
  readonly ctx: TestContext
  readonly sender: Sender
  readonly submission: SubmissionRole
  readonly client: SubmissionClient
}

/** Adds hooks to the suite that start one server and its client, and close the client's connection after each test. */
export function setUpSubmission(metrics = createRegistry()): SubmissionScene {
  let ctx: TestContext
  let sender: Sender
  let submission: SubmissionRole
  let client: SubmissionClient
  before(async () => {
    ctx = await createContext(SUBMISSION_ENV)
    sender = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: 'sender.example' })
    submission = await startSubmission(ctx, metrics)
    client = createSubmissionClient(ctx, sender, submission.ports.plain)
  })
  after(async () => {
    await submission.stop()
    await ctx.close()
  })
  afterEach(() => client.disconnect())
  return {
    get ctx() {
      return ctx
    },
    get sender() {
      return sender
    },
    get submission() {
      return submission
    },
    get client() {
      return client
    },
  }
}
