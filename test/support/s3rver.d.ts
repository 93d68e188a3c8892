/** The package has no types. It is a server with the protocol of S3, for tests only. */
declare module '@20minutes/s3rver' {
  export default class S3rver {
    constructor(options: object)
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}
