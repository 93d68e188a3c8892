/** The thread that parses the shaping files of requests. It has no secrets and may be killed at any time. */
import { parentPort } from 'node:worker_threads'
import type { ParseRequest, ParseResponse } from '#src/platform/parser-thread.ts'
import { MAX_PROBLEMS, type ParsedFile } from './shaping-file-parser.ts'
import { readShaping } from './shaping-file.ts'
import { lintShaping } from './shaping-lint.ts'

function post(results: readonly ParsedFile[]): void {
  parentPort?.postMessage({ results } satisfies ParseResponse<ParsedFile>, [])
}

post([])
parentPort?.on('message', ({ inputs }: ParseRequest<string>) => {
  for (const text of inputs) {
    const read = readShaping(text)
    const problems = lintShaping(read)
    const value = problems.length === 0 && read.kind === 'shaping' ? read.value : null
    post([{ problems: problems.slice(0, MAX_PROBLEMS), problemCount: problems.length, value }])
  }
})
