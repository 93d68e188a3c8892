/** Types for the part of the package in use; it ships none. */
declare module '@postalsys/vmc' {
  import type { X509Certificate } from 'node:crypto'
  export class RootStore {
    constructor(config: object)
    rootCerts: X509Certificate[]
  }
}
