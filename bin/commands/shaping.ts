/** `mailstead shaping`: validates the shaping file, replays past replies against it, and lists and ends suspensions. */
import { countText } from '#src/platform/plural.ts'
import { readFileSync } from 'node:fs'
import { runActions } from '#bin/cli/actions.ts'
import { type CliActions, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
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

const DEFAULT_DAYS = 7
const MAX_DAYS = 365
const DAY_MS = 86_400_000

const ACTIONS: CliActions = {
  check: {
    summary: 'validate a shaping file',
    examples: ['check my-shaping.yaml'],
    usage: 'check [FILE]',
    arguments: [0, 1],
    run: (call) => {
      const file = call.arguments[0] ?? shapingFileOf(loadConfig(call.io.env))
      const problems = lintShaping(readShaping(readText(file)))
      if (problems.length === 0) return Promise.resolve(call.respond(`${file} is valid.`, { file, problems }))
      call.respond(problems.map((one) => problemLine(file, one)).join('\n'), { file, problems })
      return Promise.resolve(1)
    },
  },
  replay: {
    summary: 'show what a file would have done with the replies of the last days',
    examples: ['replay my-shaping.yaml --days 7'],
    usage: 'replay FILE [--days N]',
    options: ['days'],
    arguments: [1, 1],
    run: (call) => {
      const days = readDays(call)
      const after = readValidFile(call, call.argument(0))
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
        return call.respond(replayText(replay, days), { days, ...replay })
      })
    },
  },
  status: {
    summary: 'list receivers that are suspended or slowed down',
    examples: ['status'],
    usage: 'status',
    run: (call) =>
      withContext(call.io, async ({ db, clock }) => {
        const [suspensions, learned] = [
          await listReceiverSuspensions(db, new Date(clock.now())),
          await loadLearnedLimits(db),
        ]
        const text = [...suspensions.map(suspensionLine), ...learned.map(learnedLine)].map((line) =>
          line.replaceAll(/\p{Cc}/gu, '?'),
        )
        return call.respond(text.length === 0 ? 'No receiver is suspended or slowed down.' : text.join('\n'), {
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
    summary: 'send to a suspended receiver again',
    examples: ['resume gmail'],
    usage: 'resume RECEIVER',
    arguments: [1, 1],
    run: (call) =>
      withContext(call.io, async (ctx) => {
        const resumed = await resumeReceiver(ctx, call.argument(0))
        if (resumed === 0) return call.fail(`${call.argument(0)} is not suspended.`, 'See mailstead shaping status.')
        return call.respond(`Mail to ${call.argument(0)} is sent again.`, { resumed })
      }),
  },
}

function suspensionLine({ pace, source, until, rule, reply }: ReceiverSuspension): string {
  return `${pace} is suspended${fromText(source)} until ${timeText(until)} by rule ${rule}: ${reply}`
}

function learnedLine({ pace, source, connections, reducedAtMs: slowedAtMs }: StoredLimit): string {
  const at = timeText(new Date(slowedAtMs))
  const limit = countText(Math.floor(connections), 'connection')
  return `${pace}${fromText(source)} takes ${limit} at once, as learned at ${at}`
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

function readDays(call: CommandCall): number {
  const days = Number(call.option('days') ?? DEFAULT_DAYS)
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS)
    throw new UsageError(`--days must be a number from 1 to ${MAX_DAYS}`)
  return days
}

/** Null if the file is invalid; prints its problems on stderr. */
function readValidFile(call: CommandCall, file: string): Shaping | null {
  const text = readText(file)
  const read = readShaping(text)
  const problems = lintShaping(read)
  if (read.kind === 'shaping' && problems.length === 0) return read.shaping
  call.fail(
    `${problems.map((one) => problemLine(file, one)).join('\n')}\n`,
    'Correct the file: docs/guides/traffic-shaping.md',
  )
  return null
}

function replayText({ replies, receivers, changes }: Replay, days: number): string {
  if (replies === 0) return `No receiver deferred or refused mail in the last ${countText(days, 'day')}.`
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
  return `${table}\n\n${changes.length === 0 ? 'The new file changes nothing.' : `Changes:\n${other}`}`
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('shaping', ACTIONS, args, io)
}
