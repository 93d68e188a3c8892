import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { removePorts, readPorts, publishPorts } from './submission-ports.ts'

const [OLD, NEW] = [
  { plain: 1, tls: 2, alt: 3 },
  { plain: 4, tls: 5, alt: 6 },
]

describe('the file of submission ports', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-ports-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  it('is removed by its writer, and not after another process has replaced it', () => {
    assert.strictEqual(publishPorts({ dataDir }, OLD), true)
    publishPorts({ dataDir }, NEW)
    removePorts({ dataDir }, OLD)
    assert.deepEqual(readPorts({ dataDir }), NEW)
    removePorts({ dataDir }, NEW)
    assert.strictEqual(readPorts({ dataDir }), null)
  })
  it('a folder that is not writable is not an error', () => {
    writeFileSync(join(dataDir, 'run'), 'a file where the folder should be')
    assert.strictEqual(publishPorts({ dataDir }, NEW), false)
  })
})
