import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const EXTENSIONS = `[authority]
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
subjectKeyIdentifier=hash
[signer]
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=emailProtection
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
[req]
distinguished_name=name
[name]
`;

/** Creates an authority and its signer in a folder: `ca.pem`, `chain.pem`, `signer.key`; and an unrelated authority, `other.pem`. */
export async function makeAuthority(folder: string): Promise<void> {
  const openssl = (...args: readonly string[]) => run("openssl", args, { cwd: folder });
  await writeFile(join(folder, "x509.cnf"), EXTENSIONS);
  for (const name of ["ca", "other", "signer"])
    await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", `${name}.key`);
  for (const name of ["ca", "other"]) {
    const made = ["-x509", "-new", "-key", `${name}.key`, "-days", "3650", "-subj", `/CN=${name}/O=Test`];
    await openssl("req", ...made, "-config", "x509.cnf", "-extensions", "authority", "-out", `${name}.pem`);
  }
  await openssl(
    "req",
    "-new",
    "-key",
    "signer.key",
    "-subj",
    "/CN=Ridge/O=Studio",
    "-config",
    "x509.cnf",
    "-out",
    "signer.csr",
  );
  const issued = ["-req", "-in", "signer.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "365"];
  await openssl("x509", ...issued, "-extfile", "x509.cnf", "-extensions", "signer", "-out", "signer.pem");
  const { stdout } = await run("cat", ["signer.pem", "ca.pem"], { cwd: folder });
  await writeFile(join(folder, "chain.pem"), stdout);
}
