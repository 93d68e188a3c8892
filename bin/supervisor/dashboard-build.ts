/**
 * Builds the dashboard in a separate process while the stores start, if its sources have changed since the last build.
 * A package contains the built files and not the program that builds them. Without the dashboard everything else works,
 * so a build that fails is reported and does not stop the start.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BUILD_ENVIRONMENT } from './build-environment.ts'

const PROGRAM = join(import.meta.dirname, '../../dashboard/build.mjs')
/** The end of its output explains a failure. */
const MAX_OUTPUT = 2000

/** Resolves when the build has ended: to null, or to the lines that report its failure. */
export async function buildDashboard(program = PROGRAM): Promise<string | null> {
  if (!existsSync(program)) return null
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'], env: BUILD_ENVIRONMENT })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-MAX_OUTPUT)
  })
  const [code] = (await once(child, 'close').catch((error: unknown) => [String(error)])) as [number | string | null]
  if (code === 0) return null
  return `The dashboard could not be built; everything else works. Run: npm run build:dashboard\n${output.trim()}`
}
