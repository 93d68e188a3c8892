/**
 * `mailstead rotate-master-key`: replaces the master key while Mailstead runs. Every step can be repeated, and between
 * two steps every process must be restarted, because a process reads the keys when it starts: a value that was
 * encrypted with a key that a process does not have yet could not be read there.
 */
import { runActions } from '#bin/cli/actions.ts'
import { UsageError, type CliActions, type CommandCall, type CommandIo } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { countText } from '#src/platform/plural.ts'
import { loadConfig, type Config } from '#config/load.ts'
import {
  generateMasterKey,
  loadMasterKeys,
  masterKeyFile,
  masterKeyOrigin,
  writeMasterKeyFile,
  type MasterKeys,
} from '#src/crypto/master-key.ts'
import { masterKeyId } from '#src/crypto/role-keys.ts'
import { countByKey, reencryptAll } from '#src/operator/master-key-rotation.ts'

const RUN = 'mailstead rotate-master-key run'
const RESTART = 'Restart every process, on each machine'

const idOf = (key: Buffer): string => masterKeyId(key).toString('hex')

/** What a step does with the keys: the new list, and what to do in MASTER_KEY where no file has the keys. */
interface KeyChange {
  readonly keys: MasterKeys
  readonly done: string
  readonly next: string
  /** For keys that do not come from the file. */
  readonly byHand: string
}

function change(call: CommandCall, { keys, done, next, byHand }: KeyChange, config: Config): number {
  const file = keyFileOf(call.io.env, config)
  const ids = keys.map(idOf)
  if (file === null) return call.respond(`The keys come from ${masterKeyOrigin(config)}. ${byHand}`, { ids })
  writeMasterKeyFile(file, keys)
  const elsewhere = `If there are more machines, copy ${file} to each of them.`
  return call.respond(`${done}\n${elsewhere}\n${next}`, { ids })
}

/** The file that has the keys: MASTER_KEY_FILE, as in the packages, or that of DATA_DIR; null if none has them. */
function keyFileOf(env: NodeJS.ProcessEnv, config: Config): string | null {
  if (config.masterKeyCommand !== null) return null
  const named = env['MASTER_KEY_FILE']?.trim() ?? ''
  if (named !== '') return named
  return config.masterKey === null ? masterKeyFile(config) : null
}

function findKey(call: CommandCall, [current, ...others]: MasterKeys): Buffer {
  const id = call.argument(0)
  const key = others.find((one) => idOf(one) === id)
  if (key !== undefined) return key
  if (idOf(current) === id) throw new UsageError(`${id} is the current key. Activate another key first`)
  throw new UsageError(`no key has the id ${id}. \`mailstead rotate-master-key status\` lists the keys`)
}

const ACTIONS: CliActions = {
  status: {
    summary: 'list the valid keys, and how many stored values each one encrypts',
    examples: ['status', 'status --json'],
    usage: 'status',
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const keys = loadMasterKeys(loadConfig(call.io.env))
        const counts = await countByKey(db)
        const ids = keys.map(idOf)
        const rows = [
          ...ids.map((id, i) => ({ id, use: i === 0 ? 'encrypts' : 'decrypts', values: counts.get(id) ?? 0 })),
          ...[...counts].flatMap(([id, values]) =>
            id === null || ids.includes(id) ? [] : [{ id, use: 'missing', values }],
          ),
        ]
        const unnamed = counts.get(null) ?? 0
        const text = tableText(
          ['KEY', 'USE', 'VALUES'],
          rows.map(({ id, use, values }) => [id, use, String(values)]),
        )
        const note = unnamed === 0 ? '' : `\n${countText(unnamed, 'value')} of an earlier version name no key.`
        return call.respond(`${text}${note}`, { keys: rows, unnamed })
      }),
  },
  add: {
    summary: 'add a new key, which decrypts only until it is activated',
    examples: ['add'],
    usage: 'add',
    run: (call) => {
      const config = loadConfig(call.io.env)
      const [current, ...others] = loadMasterKeys(config)
      const key = generateMasterKey()
      const activate = `mailstead rotate-master-key activate ${idOf(key)}`
      return Promise.resolve(
        change(
          call,
          {
            keys: [current, ...others, key],
            done: `Key ${idOf(key)} is added.`,
            next: `${RESTART}, then run: ${activate}`,
            byHand:
              `Add this key after those that are there, and restart every process: ${key.toString('hex')}\n` +
              `Then run: ${activate}`,
          },
          config,
        ),
      )
    },
  },
  activate: {
    summary: 'make a key that every process has the current key',
    examples: ['activate 1a2b3c4d'],
    usage: 'activate KEY',
    arguments: [1, 1],
    run: (call) => {
      const config = loadConfig(call.io.env)
      const keys = loadMasterKeys(config)
      const key = findKey(call, keys)
      return Promise.resolve(
        change(
          call,
          {
            keys: [key, ...keys.filter((one) => one !== key)],
            done: `Key ${idOf(key)} is the current key.`,
            next: `${RESTART}, then run: ${RUN}`,
            byHand: `Move key ${idOf(key)} to the front, restart every process, and run: ${RUN}`,
          },
          config,
        ),
      )
    },
  },
  run: {
    summary: 'encrypt all stored keys and secrets with the current key',
    examples: ['run'],
    usage: 'run',
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const columns = await reencryptAll(ctx)
        const sum = (of: (column: (typeof columns)[number]) => number): number =>
          columns.reduce((total, column) => total + of(column), 0)
        const [reencrypted, unreadable] = [sum((column) => column.reencrypted), sum((column) => column.unreadable)]
        const current = ctx.encryption.keyId.toString('hex')
        const rows = columns.map((one) => [
          `${one.table}.${one.column}`,
          String(one.reencrypted),
          String(one.unreadable),
        ])
        const text =
          `${tableText(['COLUMN', 'ENCRYPTED', 'UNREADABLE'], rows)}\n` +
          `${countText(reencrypted, 'value')} encrypted with key ${current}.`
        const left = `${countText(unreadable, 'value')} cannot be decrypted with any key: they stay as they are.`
        const code = call.respond(unreadable === 0 ? text : `${text}\n${left}`, {
          key: current,
          reencrypted,
          unreadable,
          columns,
        })
        return unreadable === 0 ? code : 1
      }),
  },
  remove: {
    summary: 'remove a key that encrypts nothing any more; links issued with it stop working',
    examples: ['remove 1a2b3c4d --yes'],
    usage: 'remove KEY --yes',
    flags: ['yes'],
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async ({ db }) => {
        const config = loadConfig(call.io.env)
        const keys = loadMasterKeys(config)
        const key = findKey(call, keys)
        const counts = await countByKey(db)
        const values = (counts.get(idOf(key)) ?? 0) + (counts.get(null) ?? 0)
        if (values > 0) return call.fail(`${countText(values, 'value')} may need this key.`, `Run first: ${RUN}`)
        if (!call.has('yes'))
          return call.fail(
            'Mail that was sent before the key was replaced has links and return-paths that need it: ' +
              'unsubscribe links would fail, and late bounces would not be counted.',
            'If that mail is old enough, or the key has become known, add --yes.',
          )
        return change(
          call,
          {
            keys: keys.filter((one) => one !== key) as [Buffer, ...Buffer[]],
            done: `Key ${idOf(key)} is removed.`,
            next: `${RESTART}.`,
            byHand: `Remove key ${idOf(key)} and restart every process.`,
          },
          config,
        )
      }),
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('rotate-master-key', ACTIONS, args, io)
}
