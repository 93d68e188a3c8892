/**
 * `mailstead dry-run`: a message on its way as far as RCPT, from this machine and with its settings; nothing is sent. The exit code is 1
 * when it would not have been taken. `--file` is a whole message, `-` for stdin.
 */
import { readFileSync } from 'node:fs'
import { type Action, type Call, type Io, runAction, UsageError } from '#bin/cli/actions.ts'
import { withContext } from '#bin/cli/context.ts'
import { workspaceOf } from '#bin/cli/find-workspace.ts'
import { loadPlans } from '#config/plans.ts'
import { executeDryRun } from '#mta/dry-run/dry-run.ts'
import { startEgress } from '#mta/egress/source-choice.ts'
import { openPipeline } from '#mta/delivery/delivery-pipeline.ts'
import type { Context } from '#src/context.ts'
import type { DryRunReport } from '#src/operator/dry-runs.ts'

const SIGNS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL', skipped: '-   ' } as const

const DRY_RUN: Action = {
  usage: '--from A --to B [--workspace W] [--file MAIL.eml|-]',
  options: ['from', 'to', 'workspace', 'file'],
  run: (call) => {
    const order = { from: call.required('from'), to: call.required('to'), raw: readFile(call.option('file')) }
    return withContext(call.io, async (ctx) => {
      const workspace = call.option('workspace')
      const workspaceId = workspace === null ? null : (await workspaceOf(ctx.db, workspace)).id
      return tell(call, await rehearseHere(ctx, { ...order, workspaceId }))
    })
  },
}

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('dry-run', DRY_RUN, args, io)
}

async function rehearseHere(ctx: Context, order: Parameters<typeof executeDryRun>[1]): Promise<DryRunReport> {
  const opened = openPipeline(ctx, await startEgress(ctx))
  try {
    return await executeDryRun({ ctx, plans: loadPlans(ctx.config.plansFile), openPipeline: opened }, order)
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

function tell(call: Call, report: DryRunReport): number {
  const steps = report.steps.flatMap(({ step, status, says, todo }) => [
    `${SIGNS[status]}  ${step}: ${says}`,
    ...(todo === null ? [] : [`      → ${todo}`]),
  ])
  const lines = [...steps, '', ...report.conversation.map((line) => `  ${line}`)].map((line) =>
    line.replace(/\p{Cc}/gu, '?'),
  )
  call.answer(lines.join('\n'), report)
  return report.result === 'fail' ? 1 : 0
}
