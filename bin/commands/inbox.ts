/**
 * `mailstead inbox [--json] [--limit N] [ID | --last]`: the mail that the sandbox received, newest first; with an id
 * one mail with its DKIM results, headers, text and events. An id is that of the list (or its last digits), or a
 * message id (em_…, msg_…). Times are in UTC. Reads the database only.
 */
import { parseArgs } from 'node:util'
import { simpleParser } from 'mailparser'
import { attachStores } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { isDatabaseAway, openDb, type Db } from '#src/stores/db.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { openLog } from '#src/platform/log.ts'
import { readEvents } from '#src/messages/read.ts'
import { findInboxMail, listInbox, type InboxMail } from '#src/sandbox/inbox.ts'
import { entryToJson, mailToJson, formatMail, formatInbox } from './inbox-view.ts'

const USAGE = 'Usage: mailstead inbox [--json] [--limit N] [ID | --last]\n'
const DEFAULT_LIMIT = '20'
const MAX_LIMIT = 1000

interface InboxOptions {
  readonly isJson: boolean
  readonly limit: number
  /** Null lists the inbox. */
  readonly id: string | null
}

export async function run(args: string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE)
    return 0
  }
  const wish = readOptions(args)
  if (typeof wish === 'string') {
    process.stderr.write(`mailstead inbox: ${wish}\n${USAGE}`)
    return 2
  }
  const db = openDb(databaseUrlOf(loadConfig()), openLog({ logLevel: 'silent' }, 'inbox'), 1)
  try {
    return await (wish.id === null ? list(db, wish) : show(db, wish, wish.id))
  } catch (error) {
    throw isDatabaseAway(error)
      ? new UserError(`the database cannot be reached (${error instanceof Error ? error.message : String(error)})`)
      : error
  } finally {
    await db.close()
  }
}

/** Returns the options, or what is wrong with the arguments. */
function readOptions(args: string[]): InboxOptions | string {
  try {
    const options = {
      json: { type: 'boolean', default: false },
      limit: { type: 'string', default: DEFAULT_LIMIT },
      last: { type: 'boolean', default: false },
    } as const
    const {
      values,
      positionals: [id, ...others],
    } = parseArgs({ args, options, allowPositionals: true })
    const limit = Number(values.limit)
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
      return `--limit must be a number from 1 to ${MAX_LIMIT}`
    if (others.length > 0 || (values.last && id !== undefined)) return 'only one mail at a time'
    return { isJson: values.json, limit, id: values.last ? 'last' : (id ?? null) }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function databaseUrlOf(config: Config): string {
  return config.databaseUrl ?? attachStores(config).databaseUrl
}

async function list(db: Db, { isJson, limit }: InboxOptions): Promise<number> {
  const lines = await listInbox(db, limit)
  if (isJson) write(JSON.stringify(lines.map(entryToJson), null, 2))
  else write(lines.length === 0 ? 'The sandbox has received nothing yet.' : formatInbox(lines).join('\n'))
  return 0
}

async function show(db: Db, { isJson }: InboxOptions, id: string): Promise<number> {
  const mail = await find(db, id)
  if (mail === null) {
    process.stderr.write(
      id === 'last' ? 'The sandbox has received nothing yet.\n' : `The sandbox has no mail ${JSON.stringify(id)}.\n`,
    )
    return 1
  }
  const [parsed, events] = await Promise.all([
    simpleParser(mail.raw),
    mail.messageId === null ? [] : readEvents(db, mail.messageId),
  ])
  write(
    isJson ? JSON.stringify(mailToJson(mail, parsed, events), null, 2) : formatMail(mail, parsed, events).join('\n'),
  )
  return 0
}

async function find(db: Db, id: string): Promise<InboxMail | null> {
  if (id === 'last') return findInboxMail(db, 'last')
  const digits = id.replaceAll('-', '').toLowerCase()
  const mail = /^[0-9a-f]{4,32}$/.test(digits) ? await findInboxMail(db, { idEnd: digits }) : null
  const messageId = messageIdOf(id)
  return mail ?? (messageId === null ? null : await findInboxMail(db, { messageId }))
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}
