/** The receiver of the sandbox by its name: every domain there has it as its MX, and so it is where bounces would come to. */
export const SANDBOX_MX = 'mx.mailstead.test'
