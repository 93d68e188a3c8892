import { totalmem } from 'node:os'
import { assert } from 'chai'
import { isSmallMachine, machineMemory } from './machine-memory.ts'

describe('the memory of the machine', () => {
  it('is at most what it has, whatever limits it', () => {
    assert.isAtMost(machineMemory(), totalmem())
    assert.isAbove(machineMemory(), 0)
  })
  it('is small below 1 GB', () => {
    assert.isTrue(isSmallMachine(2 ** 30 - 1))
    assert.isFalse(isSmallMachine(2 ** 30))
  })
})
