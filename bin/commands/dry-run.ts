/**
 * `mailstead dry-run`: runs a delivery up to RCPT TO, from this machine with its settings, without sending. The exit
 * code is 1 if the receiver would not accept the message. `--file` is a raw message, `-` for stdin.
 */
import { readFileSync } from 'node:fs'
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { loadPlans } from '#config/plans.ts'
import { executeDryRun } from '#mta/dry-run/dry-run.ts'
import { startEgress } from '#mta/egress/source-choice.ts'
import { openPipeline } from '#mta/delivery/delivery-pipeline.ts'
import type { Context } from '#src/context.ts'
import type { DryRunReport } from '#src/operator/dry-runs.ts'

const STATUS_LABELS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL', skipped: '-   ' } as const

const DRY_RUN: CliAction = {
  summary: 'check a delivery up to RCPT without sending',
  examples: [
    '--from shop@example.com --to anna@example.org',
    '--from shop@example.com --to anna@example.org --file mail.eml',
  ],
  usage: '--from A --to B [--workspace W] [--file MAIL.eml|-]',
  options: ['from', 'to', 'workspace', 'file'],
  run: (call) => {
    const order = { from: call.required('from'), to: call.required('to'), raw: readFile(call.option('file')) }
    return withContext(call.io, async (ctx) => {
      const workspace = call.option('workspace')
      const workspaceId = workspace === null ? null : (await requireWorkspace(ctx.db, workspace)).id
      return printReport(call, await runHere(ctx, { ...order, workspaceId }))
    })
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('dry-run', DRY_RUN, args, io)
}

async function runHere(ctx: Context, request: Parameters<typeof executeDryRun>[1]): Promise<DryRunReport> {
  const opened = openPipeline(ctx, await startEgress(ctx))
  try {
    return await executeDryRun({ ctx, plans: loadPlans(ctx.config.plansFile), openPipeline: opened }, request)
  } finally {
    await opened.close()
  }
}

function readFile(name: string | null): Buffer | null {
  if (name === null) return null
  try {
    return readFileSync(name === '-' ? 0 : name)
  } catch (error) {
    throw new UsageError(`--file cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function printReport(call: CommandCall, report: DryRunReport): number {
  const steps = report.steps.flatMap(({ step, status, says, todo }) => [
    `${STATUS_LABELS[status]}  ${step}: ${says}`,
    ...(todo === null ? [] : [`      → ${todo}`]),
  ])
  const lines = [...steps, '', ...report.conversation.map((line) => `  ${line}`)].map((line) =>
    line.replace(/\p{Cc}/gu, '?'),
  )
  call.respond(lines.join('\n'), report)
  return report.result === 'fail' ? 1 : 0
}
