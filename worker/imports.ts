/** Imports of contacts, a slice at a time, and clearing up after them. Any number of workers share them; one import is in one hand. */
import type { Context } from '#src/context.ts'
import { purgeImports } from '#src/imports/purge-imports.ts'
import { runImports } from '#src/imports/import-runner.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 1000

export function importLoop(ctx: Context): LoopSpec {
  return { name: 'imports', everyMs: EVERY_MS, round: async () => (await runImports(ctx)) || purgeImports(ctx.db) }
}
