/**
 * `mailstead inbox`: the mail that the sandbox received, newest first; with an id one mail with its DKIM results,
 * headers, text and events. An id is that of the list (or its last digits), or a message id (em_…, msg_…). Reads the
 * database only.
 */
import { simpleParser } from 'mailparser'
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { isDatabaseAway, openDb, type Db } from '#src/stores/db.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { readEvents } from '#src/messages/read.ts'
import { findInboxMail, listInbox, type InboxMail } from '#src/sandbox/inbox.ts'
import { entryToJson, mailToJson, formatMail, formatInbox } from './inbox-view.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1000

const ACTION: CliAction = {
  summary: 'list the mail that the sandbox received, or show one',
  usage: '[--limit N] [ID | --last]',
  examples: ['', '--last', 'bf94c782 # the last digits of an id, or em_…'],
  options: ['limit'],
  flags: ['last'],
  arguments: [0, 2],
  run: async (call) => {
    const limit = call.number('limit', DEFAULT_LIMIT, MAX_LIMIT)
    const [id, ...others] = call.arguments
    if (others.length > 0 || (call.has('last') && id !== undefined)) throw new UsageError('only one mail at a time')
    const wanted = call.has('last') ? 'last' : (id ?? null)
    const db = openDb(databaseUrlOf(loadConfig(call.io.env)), openLog({ logLevel: 'silent' }, 'inbox'), 1)
    try {
      return await (wanted === null ? list(db, call, limit) : show(db, call, wanted))
    } catch (error) {
      throw isDatabaseAway(error)
        ? new UserError(
            `The database cannot be reached (${error instanceof Error ? error.message : String(error)}).`,
            'Check that it runs, and DATABASE_URL.',
          )
        : error
    } finally {
      await db.close()
    }
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('inbox', ACTION, args, io)
}

function databaseUrlOf(config: Config): string {
  return config.databaseUrl ?? attachStores(config).databaseUrl
}

async function list(db: Db, call: CommandCall, limit: number): Promise<number> {
  const lines = await listInbox(db, limit)
  const text = lines.length === 0 ? 'The sandbox has received nothing yet.' : formatInbox(lines).join('\n')
  return call.respond(text, lines.map(entryToJson))
}

async function show(db: Db, call: CommandCall, id: string): Promise<number> {
  const mail = await find(db, id)
  if (mail === null) {
    return call.fail(
      id === 'last' ? 'The sandbox has received nothing yet.' : `The sandbox has no mail ${JSON.stringify(id)}.`,
      id === 'last' ? 'Send a message first: mailstead demo' : 'See mailstead inbox.',
    )
  }
  const [parsed, events] = await Promise.all([
    simpleParser(mail.raw),
    mail.messageId === null ? [] : readEvents(db, mail.messageId),
  ])
  return call.respond(formatMail(mail, parsed, events).join('\n'), mailToJson(mail, parsed, events))
}

async function find(db: Db, id: string): Promise<InboxMail | null> {
  if (id === 'last') return findInboxMail(db, 'last')
  const digits = id.replaceAll('-', '').toLowerCase()
  const mail = /^[0-9a-f]{4,32}$/.test(digits) ? await findInboxMail(db, { idEnd: digits }) : null
  const messageId = messageIdOf(id)
  return mail ?? (messageId === null ? null : await findInboxMail(db, { messageId }))
}
