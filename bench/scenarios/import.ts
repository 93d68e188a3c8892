/**
 * Import of a contact file, from the upload to the last row in the audience. The
 * client generates the file while it sends it; api and worker run as in
 * production. Measures the time per row and the memory of both processes.
 */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { peakMemory } from '#bench/harness/contender.ts'
import { readUsage, resetPeaks, type GroupUsage } from '#bench/harness/cpu.ts'
import type { AdminAccess } from '#bench/harness/mailstead.ts'
import { call } from '#bench/harness/api-call.ts'

export interface ImportResult {
  readonly rows: number
  readonly megabytes: number
  /** Until the file is stored, and from then until the import is completed. */
  readonly uploadSeconds: number
  readonly importSeconds: number
  /** By process, for upload and import together. */
  readonly cpuSeconds: Readonly<Record<string, number>>
  readonly peakMb: Readonly<Record<string, number>>
}

interface ImportState {
  readonly status: string
  readonly bytes: number
  readonly reason: string | null
  readonly rows: Readonly<Record<string, number>>
}

const POLL_MS = 200
const PART_ROWS = 1000

export async function runImport(bench: MailsteadBench): Promise<ImportResult> {
  const { mailstead, sizes, receiver } = bench
  try {
    await mailstead.start(['api', 'worker'], { '*': receiver.port })
    const { admin } = mailstead
    const audience = await call<{ id: string }>(
      admin,
      'POST',
      '/audiences/add-audience',
      JSON.stringify({ name: 'bench' }),
    )
    resetPeaks(mailstead.groups())
    const before = readUsage(mailstead.groups())
    const startedAt = Date.now()
    const file = Readable.from(generateCsv(sizes.importRows))
    const { id } = await call<{ id: string }>(admin, 'POST', `/contacts/import?audienceId=${audience.id}`, file)
    const storedAt = Date.now()
    bench.say(`  ${sizes.importRows} rows are stored`)
    const done = await waitForImport(admin, id)
    const endedAt = Date.now()
    const after = readUsage(mailstead.groups())
    if (done.rows['added'] !== sizes.importRows)
      throw UserError.of(`the import is ${done.status} (${done.reason}): ${JSON.stringify(done.rows)}`)
    return {
      rows: sizes.importRows,
      megabytes: done.bytes / 1e6,
      uploadSeconds: (storedAt - startedAt) / 1000,
      importSeconds: (endedAt - storedAt) / 1000,
      cpuSeconds: cpuBetween(before, after),
      peakMb: peakMemory(after),
    }
  } finally {
    await mailstead.stop('worker', 'api')
  }
}

export async function waitForImport(admin: AdminAccess, id: string): Promise<ImportState> {
  for (;;) {
    const state = await call<ImportState>(admin, 'GET', `/contacts/imports/${id}`, null)
    if (state.status !== 'waiting' && state.status !== 'running') return state
    await sleep(POLL_MS)
  }
}

function cpuBetween(before: GroupUsage, after: GroupUsage): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, { cpuMs }]) => [name, (cpuMs - (before[name]?.cpuMs ?? 0)) / 1000]),
  )
}

/** Unsorted addresses of 5,000 domains, as in real lists; eight columns. */
export function* generateCsv(rows: number): Generator<Buffer> {
  yield Buffer.from('email,first_name,last_name,company,phone,tags,timezone,attribute:plan\n')
  for (let from = 0; from < rows; from += PART_ROWS) {
    const numbers = Array.from({ length: Math.min(PART_ROWS, rows - from) }, (_, i) => from + i)
    yield Buffer.from(numbers.map(formatRow).join(''))
  }
}

function formatRow(n: number): string {
  const shuffled = (Math.imul(n, 2654435761) >>> 0).toString(36)
  const email = `${shuffled}.person${n}@mail${n % 5000}.example`
  return `${email},First${shuffled},Last${n},Company ${n % 1000},+49 30 ${n},lead|q${n % 4},Europe/Berlin,pro\n`
}
