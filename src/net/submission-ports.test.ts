import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { removePorts, readPorts, publishPorts } from './submission-ports.ts'

const [OLD, NEW] = [
  { plain: 1, tls: 2, alt: 3 },
  { plain: 4, tls: 5, alt: 6 },
]

describe('the ports of submission, as they are told', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/mailstead-test-ports-')
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  it('are forgotten by whoever told them, and not by one that stops after another has begun', () => {
    assert.strictEqual(publishPorts({ dataDir }, OLD), true)
    publishPorts({ dataDir }, NEW)
    removePorts({ dataDir }, OLD)
    assert.deepEqual(readPorts({ dataDir }), NEW)
    removePorts({ dataDir }, NEW)
    assert.strictEqual(readPorts({ dataDir }), null)
  })
  it('are not told where nothing can be written, which stops nobody', () => {
    writeFileSync(join(dataDir, 'run'), 'a file where the folder should be')
    assert.strictEqual(publishPorts({ dataDir }, NEW), false)
  })
})
