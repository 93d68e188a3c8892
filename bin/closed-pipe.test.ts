import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { assert } from 'chai'

const PROGRAM = join(import.meta.dirname, 'mailstead.ts')

describe('the command line', () => {
  for (const args of [['--help'], ['settings', '--json'], ['doctor', '--help']]) {
    it(`mailstead ${args.join(' ')} ends quietly when its reader has closed the pipe`, async () => {
      const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.destroy()
      const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
      assert.deepEqual([said, code], ['', 0])
    })
  }
})
