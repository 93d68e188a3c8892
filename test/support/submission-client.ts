/** Hands in mail at a submission port, and finds what was stored of it. */
import { assert } from 'chai'
import { loadBodies } from '#src/messages/claim.ts'
import { readMessage, type MessageView } from '#src/messages/read.ts'
import { messageIdOf } from '#src/platform/id.ts'
import type { TestContext } from './context.ts'
import type { Sender } from './sender.ts'
import { logInSmtp, sendMessage } from './smtp-client.ts'
import type { SmtpConnection } from './smtp-connection.ts'

export interface StoredMessage {
  /** Empty for a message that was rendered from a template. */
  readonly raw: Buffer
  readonly view: MessageView
}

export interface SubmissionClient {
  /** A connection, logged in with the sender's key unless another or none is given. */
  open(key?: string | null, port?: number): Promise<SmtpConnection>
  /** One message on a connection of its own; the last reply. */
  hand(content: string | Buffer, to?: string | string[], parameters?: string): Promise<string>
  /** The message that a reply names. */
  find(reply: string): Promise<StoredMessage>
  /** Closes all connections. */
  disconnect(): void
}

export function createSubmissionClient(ctx: TestContext, sender: Sender, plainPort: number): SubmissionClient {
  const connections: SmtpConnection[] = []
  const open: SubmissionClient['open'] = async (key = sender.regular, port = plainPort) => {
    const connection = await logInSmtp(port, key)
    connections.push(connection)
    return connection
  }
  return {
    open,
    hand: async (content, to = 'a@b.example', parameters = '') =>
      sendMessage(await open(), { from: 'app@client.test', to, content, parameters }),
    find: async (reply) => {
      const id = messageIdOf(/queued as (em_[0-9a-f]{32})$/.exec(reply)?.[1] ?? '')
      assert.ok(id !== null, reply)
      const view = await readMessage(ctx.db, sender.workspaceId, id)
      const { raw, isBodyGone } = await loadBodies(ctx.db, id)
      assert.ok(view !== null && !isBodyGone)
      return { raw: raw ?? Buffer.alloc(0), view }
    },
    disconnect: () => connections.splice(0).forEach((connection) => connection.disconnect()),
  }
}
