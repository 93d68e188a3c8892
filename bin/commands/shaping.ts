/** `mailstead shaping`: the file of limits and reply rules, checked and tried out before it is used, and what it has stopped. */
import { readFileSync } from 'node:fs'
import { type Actions, type Call, type Io, runActions, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { loadConfig } from '#config/load.ts'
import type { ShapingProblem, Shaping } from '#src/shaping/shaping-file.ts'
import { readShaping } from '#src/shaping/shaping-file.ts'
import { loadLearnedLimits, type StoredLimit } from '#src/shaping/learned-limits.ts'
import { lintShaping } from '#src/shaping/shaping-lint.ts'
import { fromText } from '#src/shaping/throttle-key.ts'
import { listReceiverSuspensions, resumeReceiver, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import { replayShaping, type ActionCounts, type Replay } from '#src/shaping/reply-replay.ts'
import { loadShaping, shapingFileOf } from '#src/shaping/shaping-file-watch.ts'

const USUAL_DAYS = 7
const MAX_DAYS = 365
const DAY_MS = 86_400_000

const ACTIONS: Actions = {
  check: {
    usage: 'check [FILE]',
    words: [0, 1],
    run: (call) => {
      const file = call.words[0] ?? shapingFileOf(loadConfig(call.io.env))
      const problems = lintShaping(readText(file))
      if (problems.length === 0) return Promise.resolve(call.answer(`${file}: nothing is wrong.`, { file, problems }))
      call.answer(problems.map((one) => problemLine(file, one)).join('\n'), { file, problems })
      return Promise.resolve(1)
    },
  },
  replay: {
    usage: 'replay FILE [--days N]',
    options: ['days'],
    words: [1, 1],
    run: (call) => {
      const days = readDays(call)
      const after = readUsable(call, call.word(0))
      if (after === null) return Promise.resolve(1)
      return withContext(call.io, async ({ db, config, clock }) => {
        const until = new Date(clock.now())
        const before = loadShaping(shapingFileOf(config))
        const mapped = new Set(config.routes.map(({ domain }) => domain))
        const replay = await replayShaping(db, {
          before,
          after,
          mapped,
          since: new Date(until.getTime() - days * DAY_MS),
          until,
        })
        return call.answer(replayText(replay, days), { days, ...replay })
      })
    },
  },
  status: {
    usage: 'status',
    run: (call) =>
      withContext(call.io, async ({ db, clock }) => {
        const [suspensions, learned] = [await listReceiverSuspensions(db, new Date(clock.now())), await loadLearnedLimits(db)]
        const text = [...suspensions.map(suspensionLine), ...learned.map(learnedLine)].map((line) =>
          line.replaceAll(/\p{Cc}/gu, '?'),
        )
        return call.answer(text.length === 0 ? 'Every receiver is at its full pace.' : text.join('\n'), {
          suspensions: suspensions.map(({ pace, source, workspaceId, rule, reply, until, createdAt }) => ({
            pace,
            source,
            workspace_id: workspaceId,
            rule,
            reply,
            until,
            created_at: createdAt,
          })),
          learned: learned.map(({ pace, source, connections, reducedAtMs: slowedAtMs }) => ({
            pace,
            source,
            connections,
            slowed_at: new Date(slowedAtMs),
          })),
        })
      }),
  },
  resume: {
    usage: 'resume RECEIVER',
    words: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const resumed = await resumeReceiver(ctx, call.word(0))
        if (resumed === 0)
          return call.fail(`${call.word(0)} is not left alone; mailstead shaping status lists what is.`)
        return call.answer(`Mail to ${call.word(0)} goes out again.`, { resumed })
      }),
  },
}

function suspensionLine({ pace, source, until, rule, reply }: ReceiverSuspension): string {
  return `${pace} is left alone${fromText(source)} until ${until.toISOString()} by rule ${rule}: ${reply}`
}

function learnedLine({ pace, source, connections, reducedAtMs: slowedAtMs }: StoredLimit): string {
  const at = new Date(slowedAtMs).toISOString()
  return `${pace}${fromText(source)} takes ${Math.floor(connections)} connections at once, as learned at ${at}`
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function problemLine(file: string, { line, text }: ShapingProblem): string {
  return `${file}${line === 0 ? '' : `:${line}`}: ${text}`
}

function readDays(call: Call): number {
  const days = Number(call.option('days') ?? USUAL_DAYS)
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS)
    throw new UsageError(`--days takes a number from 1 to ${MAX_DAYS}`)
  return days
}

/** Null, and what is wrong on stderr, for a file that could not be used. */
function readUsable(call: Call, file: string): Shaping | null {
  const text = readText(file)
  const problems = lintShaping(text)
  const read = readShaping(text)
  if (read.kind === 'shaping' && problems.length === 0) return read.shaping
  call.fail(problems.map((one) => problemLine(file, one)).join('\n'))
  return null
}

function replayText({ replies, receivers, changes }: Replay, days: number): string {
  if (replies === 0) return `No receiver refused anything in the last ${days} days.`
  const counts = ({ suspend, slow, tell, nothing }: ActionCounts): string =>
    `${suspend} suspend, ${slow} slow, ${tell} tell, ${nothing} nothing`
  const table = tableText(
    ['RECEIVER', 'REPLIES', 'BEFORE', 'AFTER'],
    receivers.map((one) => [one.receiver, String(one.replies), counts(one.before), counts(one.after)]),
  )
  const other = tableText(
    ['RECEIVER', 'COUNT', 'RULE BEFORE', 'RULE AFTER', 'REPLY'],
    changes.map((one) => [one.receiver, String(one.count), one.before ?? '-', one.after ?? '-', one.reply]),
  )
  return `${table}\n\n${changes.length === 0 ? 'Nothing would differ.' : `What would differ:\n${other}`}`
}

export function run(args: string[], io?: Io): Promise<number> {
  return runActions('shaping', ACTIONS, args, io)
}
