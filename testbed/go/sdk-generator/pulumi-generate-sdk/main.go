// pulumi-generate-sdk writes the SDK of a package in a language.
//
// Pulumi's official language hosts call the same generators; see ../../../plugins/README.md. Its standard
// input is a GeneratePackageRequest of pulumi/language.proto as JSON; errors go to standard error.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"google.golang.org/protobuf/encoding/protojson"

	golang "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/proto/go"
)

func main() {
	if err := generate(os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(language string, input io.Reader) error {
	text, err := io.ReadAll(input)
	if err != nil {
		return err
	}
	var request pulumirpc.GeneratePackageRequest
	if err := protojson.Unmarshal(text, &request); err != nil {
		return err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(request.Schema), &spec); err != nil {
		return err
	}
	loader, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return err
	}
	defer loader.Close()
	cached := schema.NewCachedLoader(loader)
	pkg, diagnostics, err := schema.BindSpec(spec, cached, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return diagnostics.Errs()[0].(*hcl.Diagnostic)
	}
	files, err := files(language, pkg, &request, cached)
	if err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(request.Directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func files(
	language string, pkg *schema.Package, request *pulumirpc.GeneratePackageRequest, loader schema.ReferenceLoader,
) (map[string][]byte, error) {
	tool := "pulumi-language-" + language
	switch language {
	case "go":
		return golang.GeneratePackage(tool, pkg, request.LocalDependencies)
	case "nodejs":
		return nodejs.GeneratePackage(
			tool, pkg, request.ExtraFiles, request.LocalDependencies, request.Local, loader)
	case "python":
		return python.GeneratePackage(tool, pkg, request.ExtraFiles, loader)
	}
	return nil, fmt.Errorf("no generator for %s", language)
}
